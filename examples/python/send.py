"""Makes a topic, sends an event to it and reads what it holds: send.py HOST PORT.

The package eventbus.v1 is what `thrift --gen py thrift/eventbus.thrift` writes.
"""

import sys

from eventbus.v1 import EventAdmin, EventBus
from eventbus.v1.ttypes import Message, TopicSettings
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.protocol.TMultiplexedProtocol import TMultiplexedProtocol
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TFramedTransport

transport = TFramedTransport(TSocket(sys.argv[1], int(sys.argv[2])))
protocol = TBinaryProtocol(transport)
admin = EventAdmin.Client(TMultiplexedProtocol(protocol, "EventAdmin"))
bus = EventBus.Client(TMultiplexedProtocol(protocol, "EventBus"))

transport.open()
topic = admin.createTopic("orders", TopicSettings(max_waiting=1000))
sent = bus.send(topic.name, Message(payload=b'{"order": 7}', headers={"tenant": "7"}))
stats = admin.getStats(topic.name)[0]
print(f"sent {sent}; {stats.topic} holds {stats.waiting}, at most {topic.max_waiting}")
transport.close()
