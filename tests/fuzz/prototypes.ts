const PROTOTYPES = [Object, Array, Function, String, Number, Boolean, RegExp, Map, Promise, Error];

const members = PROTOTYPES.flatMap(({ name, prototype }) =>
  Reflect.ownKeys(prototype).map((key) => ({
    name: `${name}.prototype.${String(key)}`,
    prototype,
    key,
    descriptor: Object.getOwnPropertyDescriptor(prototype, key),
  })),
);

/** Throws if a prototype that objects inherit from was extended or changed. */
export function checkPrototypes(): void {
  const now = PROTOTYPES.reduce((sum, { prototype }) => sum + Reflect.ownKeys(prototype).length, 0);
  if (now !== members.length) throw new Error('a prototype was extended');
  for (const { name, prototype, key, descriptor } of members) {
    const current = Object.getOwnPropertyDescriptor(prototype, key);
    if (current?.value !== descriptor?.value) throw new Error(`${name} was changed`);
  }
}
