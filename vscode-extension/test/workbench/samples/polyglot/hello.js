const name = "world";
console.log(`hello ${name}`);
