// The time that a function in a new process needs, from the import to its first answer, in milliseconds.
const startedAtMs = performance.now();
const { createHandler } = await import(process.argv[2]);
const handler = createHandler({ maintenance: 'on-demand', maxConnections: 1 });
const response = await handler(new Request('http://localhost/api/user'));
if (!response.ok) throw new Error(`answered ${response.status}`);
process.stdout.write(String(performance.now() - startedAtMs));
