package main

import "fmt"

func main() {
	var name string
	fmt.Print("who? ")
	fmt.Scanln(&name)
	length := len(name)
	fmt.Println("hail", name, length)
}
