module fernlock

go 1.19
