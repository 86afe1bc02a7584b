/** What we use of Next.js 15.1 and newer, which is there when a route file imports `instep/next`. */
declare module 'next/server.js' {
  export function after(task: () => Promise<void>): void;
  export function connection(): Promise<void>;
}
