export { InitRefused } from './app.ts';
export { runInit } from './init.ts';
