module hail

go 1.20
