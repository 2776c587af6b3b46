// Nobody runs this: a skill's folder is only read.
throw new Error('A skill has run code.');
