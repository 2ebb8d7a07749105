// A nursery: a tree of beds, a list of waterings, and with an address as the argument a server.
package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
)

type Bed struct {
	Name  string
	Depth int
	Beds  []*Bed
}

func sum(bed *Bed, left int) int {
	if left == 0 {
		return 0
	}
	total := bed.Depth
	for _, inner := range bed.Beds {
		total += sum(inner, left-1)
	}
	return total
}

func water(level int, rounds int) int {
	for round := 0; round < rounds; round++ {
		level = (level*43 + round*7) % 521
		if level%4 == 0 {
			level += 3
		}
	}
	return level
}

func graft(stock int, scion int) (int, error) {
	join := (stock*scion + 5) % 37
	if join%8 == 3 {
		return 0, errors.New("it does not take")
	}
	return join, nil
}

func mix(grain int) []int {
	mixture := []int{}
	for portion := grain; len(mixture) < 4; portion = (portion*9 + 2) % 101 {
		mixture = append(mixture, portion)
	}
	return mixture
}

func dose(w http.ResponseWriter, request *http.Request) {
	grain, _ := strconv.Atoi(request.URL.Query().Get("grain"))
	mixture := mix(grain)
	strength := mixture[2] % 10
	if strength > 7 {
		http.Error(w, "too strong", 500)
		return
	}
	fmt.Fprintln(w, "ok")
}

func main() {
	if len(os.Args) > 1 {
		http.HandleFunc("/dose", dose)
		fmt.Println("listening on http://" + os.Args[1])
		fmt.Println(http.ListenAndServe(os.Args[1], nil))
		return
	}
	names := []string{"mossop", "tansy", "burnet", "yarrel", "sedge", "orache"}
	beds := []*Bed{}
	for i, name := range names {
		beds = append(beds, &Bed{Name: name, Depth: i*3 + 1})
	}
	for i := 1; i < len(beds); i++ {
		parent := beds[i*i%len(beds)%i]
		parent.Beds = append(parent.Beds, beds[i])
	}
	graftAt := water(11, 12) % 3
	beds[5].Beds = append(beds[5].Beds, beds[graftAt])
	failed := 0
	for stock := 2; stock < 14; stock++ {
		if _, err := graft(stock, water(stock, 5)); err != nil {
			failed++
		}
	}
	fmt.Println(sum(beds[0], 30), failed)
}
