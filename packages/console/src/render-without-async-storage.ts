import { jsx } from 'hono/jsx';

/**
 * Makes Hono's JSX render without an `AsyncLocalStorage`, which only asynchronous components need. In Node 20
 * and 22, the first use of one makes every promise of the process slower, for as long as the process runs.
 * Hono looks for `AsyncLocalStorage` only when it renders for the first time.
 */
export function renderWithoutAsyncStorage(): void {
  const { getBuiltinModule } = process;
  Reflect.set(process, 'getBuiltinModule', undefined);
  try {
    jsx('br', {}).toString();
  } finally {
    process.getBuiltinModule = getBuiltinModule;
  }
}
