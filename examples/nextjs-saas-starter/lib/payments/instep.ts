import { createNextHandlers } from 'instep/next';

/** `next start` is a process that keeps running. In serverless functions, leave the option out. */
export const instep = createNextHandlers({ maintenance: 'background' });
export const { GET, POST } = instep;
