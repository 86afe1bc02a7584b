// `instep-operate/host`: what the commands and the server of `instep` need besides the public API.

export { createAlertsJob, sendAlert } from './operate/alerts.ts';
export { done, recorded } from './operate/audit.ts';
export { checkHealth } from './operate/health.ts';
