package store_test

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
)

func leasing() []test {
	return []test{
		{name: "IsTakenOnceAndRenewed", run: leaseIsTakenOnceAndRenewed},
		{name: "ThatIsGoneIsNotRenewed", run: leaseThatIsGoneIsNotRenewed},
		{name: "ThatHasRunOutIsRenewedWhileItStands", run: leaseThatHasRunOutIsRenewed},
		{name: "NamesABoundedNumberOfTheExpired", run: leaseNamesABoundedNumber},
		{name: "IsForgottenOnlyOnceItHasRunOut", run: leaseIsForgottenOnlyOnceItHasRunOut},
		{name: "TellsWhatItsConsumerRuns", run: leaseTellsWhatItsConsumerRuns},
		{name: "TellsWhoIsEnrolled", run: leaseTellsWhoIsEnrolled},
		{name: "HolderIsReleasedOnceItHoldsNothing", run: holderIsReleasedOnceItHoldsNothing},
	}
}

const leaseTime = 10 * time.Second

func (b *bed) enroll(id string) {
	b.Helper()
	require.NoError(b, b.store.Enroll(b.Context(), id, leaseTime, []byte(`{"host":"`+id+`"}`)))
}

func (b *bed) renew(id string) (held bool, expired []string) {
	b.Helper()
	held, expired, err := b.store.Renew(b.Context(), id, leaseTime)
	require.NoError(b, err)
	return held, expired
}

// expires reads when a consumer's lease ends, in epoch ms.
func (b *bed) expires(id string) int64 {
	b.Helper()
	score, err := b.rdb.ZScore(b.Context(), b.ns+":consumers", id).Result()
	require.NoError(b, err)
	return int64(score)
}

func leaseIsTakenOnceAndRenewed(b *bed) {
	before := b.now()
	b.enroll("c1")
	require.GreaterOrEqual(b, b.expires("c1"), before+leaseTime.Milliseconds())
	require.LessOrEqual(b, b.expires("c1"), b.now()+leaseTime.Milliseconds())
	b.score(b.ns+":consumers", "c1", float64(b.now()+1000))
	held, expired := b.renew("c1")
	require.True(b, held)
	require.Empty(b, expired)
	require.Greater(b, b.expires("c1"), b.now()+leaseTime.Milliseconds()/2)
}

func leaseThatIsGoneIsNotRenewed(b *bed) {
	b.enroll("c1")
	require.NoError(b, b.store.Leave(b.Context(), "c1"))
	before := b.dump()
	held, expired := b.renew("c1")
	require.False(b, held)
	require.Empty(b, expired)
	require.Equal(b, before, b.dump())
}

// After an outage of Redis all leases have run out, and nobody has died.
func leaseThatHasRunOutIsRenewed(b *bed) {
	b.enroll("c1")
	b.enroll("c2")
	require.NoError(b, b.store.GiveUp(b.Context(), "c1"))
	require.NoError(b, b.store.GiveUp(b.Context(), "c2"))
	held, expired := b.renew("c1")
	require.True(b, held)
	require.Equal(b, []string{"c2"}, expired, "the renewed one is not among the expired")
}

func leaseNamesABoundedNumber(b *bed) {
	b.enroll("c")
	for i := range 40 {
		require.NoError(b, b.store.GiveUp(b.Context(), fmt.Sprint("dead", i)))
	}
	_, expired := b.renew("c")
	require.NotEmpty(b, expired)
	require.LessOrEqual(b, len(expired), 16)
}

func leaseIsForgottenOnlyOnceItHasRunOut(b *bed) {
	b.enroll("c1")
	before := b.dump()
	require.NoError(b, b.store.Forget(b.Context(), "c1"))
	require.NoError(b, b.store.Forget(b.Context(), "never there"))
	require.Equal(b, before, b.dump(), "it came back meanwhile")
	require.NoError(b, b.store.GiveUp(b.Context(), "c1"))
	require.NoError(b, b.store.Forget(b.Context(), "c1"))
	all, err := b.store.Consumers(b.Context())
	require.NoError(b, err)
	require.Empty(b, all)
	runs, err := b.store.Runs(b.Context(), "c1")
	require.NoError(b, err)
	require.Nil(b, runs)
}

func leaseTellsWhatItsConsumerRuns(b *bed) {
	b.enroll("c1")
	require.NoError(b, b.store.Describe(b.Context(), "c1", []byte("anew")))
	require.NoError(b, b.store.GiveUp(b.Context(), "c2"))
	all, err := b.store.Consumers(b.Context())
	require.NoError(b, err)
	require.Len(b, all, 2)
	require.Equal(b, "c2", all[0].ID)
	require.Nil(b, all[0].Runs)
	require.Equal(b, int64(0), all[0].Expires.UnixMilli())
	require.Equal(b, "c1", all[1].ID)
	require.Equal(b, "anew", string(all[1].Runs))
	require.Equal(b, b.expires("c1"), all[1].Expires.UnixMilli())
}

func leaseTellsWhoIsEnrolled(b *bed) {
	b.enroll("lives")
	require.NoError(b, b.store.GiveUp(b.Context(), "expired"))
	found, err := b.store.Enrolled(b.Context(), []string{"unknown", "lives", "expired"})
	require.NoError(b, err)
	require.Equal(b, map[string]bool{"unknown": false, "lives": true, "expired": true}, found)
}

func holderIsReleasedOnceItHoldsNothing(b *bed) {
	b.send("1")
	receipts, _ := b.claimed(1)
	require.NoError(b, b.store.Unhold(b.Context(), &b.keys, consumer))
	holders, err := b.store.Holders(b.Context(), &b.keys)
	require.NoError(b, err)
	require.Equal(b, []string{consumer}, holders)
	b.finish(done(receipts...)...)
	require.NoError(b, b.store.Unhold(b.Context(), &b.keys, consumer))
	holders, err = b.store.Holders(b.Context(), &b.keys)
	require.NoError(b, err)
	require.Empty(b, holders)
}
