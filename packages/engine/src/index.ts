// The engine's public API. The entries of its folders are for features and operators.

export { type Engine, type EngineOptions, type EngineSettings, openEngine } from './engine.ts';
export type { EngineServices, Feature } from './feature.ts';
export { listen } from './http/listener.ts';
export { serverAt } from './postgres/database.ts';
export { createLogger } from './runtime/logging.ts';
