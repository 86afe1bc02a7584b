/**
 * The part of Next.js 15.1 and newer that Instep uses. It is installed wherever a route file imports
 * `instep/next`.
 */
declare module 'next/server.js' {
  export function after(task: () => Promise<void>): void;
  export function connection(): Promise<void>;
}
