module github.com/seed4933/eventbus

go 1.26
