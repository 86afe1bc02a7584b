import { type InstepOptions, logSettings, openService, type Service } from '../instep.ts';

declare global {
  // A hot reload, and each bundle of an app, evaluates this module again, but a process has only one global
  // object.
  var instepServices: WeakMap<object, Map<string, Promise<Service>>> | undefined;
}

/** The services of an app's pool, or of the process. */
function servicesOf({ pool }: InstepOptions): Map<string, Promise<Service>> {
  globalThis.instepServices ??= new WeakMap();
  const owner = pool ?? globalThis;
  const services = globalThis.instepServices.get(owner) ?? new Map<string, Promise<Service>>();
  globalThis.instepServices.set(owner, services);
  return services;
}

/**
 * Opens the service of these options, unless this process has it already. A failed start is forgotten, so the
 * next call starts again. @throws the errors of `openService`
 */
export function openShared(options: InstepOptions): Promise<Service> {
  const key = keyOf(options);
  const services = servicesOf(options);
  const known = services.get(key);
  if (known !== undefined) return known;
  logSettings(options);
  const opened = openService(options);
  services.set(key, opened);
  opened.catch(() => {
    if (services.get(key) === opened) services.delete(key);
  });
  return opened;
}

/** Closes the service of these options, if this process has it. The next call opens it again. */
export async function closeShared(options: InstepOptions): Promise<void> {
  const key = keyOf(options);
  const services = servicesOf(options);
  const opened = services.get(key);
  services.delete(key);
  // A failed start left nothing open, and its callers got the error.
  const service = await opened?.catch(() => undefined);
  await service?.close();
}

/** Ignores functions: if loggers differ, the first one is used. */
function keyOf({ logger: _logger, now: _now, pool: _pool, ...identity }: InstepOptions): string {
  return JSON.stringify(identity);
}
