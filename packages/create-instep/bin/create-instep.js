#!/usr/bin/env node
// `npm create instep` is `instep init`, from a folder in which Instep need not be installed.
process.argv.splice(2, 0, 'init');
await import(new URL('bin/instep.js', import.meta.resolve('instep/package.json')));
