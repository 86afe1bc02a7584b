import type { Command } from 'commander';
import { ConfigInvalid, readAlertConfig } from '../config/config.ts';
import { sendAlert } from '../operate/alerts.ts';
import { createCommand } from './arguments.ts';
import { printMessage } from './output.ts';
import { stopSignal } from './signals.ts';

export function alertsCommand(): Command {
  return createCommand('alerts', 'try the alerts', 'instep alerts test').addCommand(
    createCommand(
      'test',
      'send a message to the receiver of ALERT_WEBHOOK_URL',
      'instep alerts test',
    ).action(test),
  );
}

async function test(): Promise<void> {
  const alerts = readAlertConfig(process.env);
  if (alerts === null) {
    const problem = 'is not set, so alerts are off';
    throw new ConfigInvalid([
      { variable: 'ALERT_WEBHOOK_URL', problem, remedy: 'set the address of the receiver' },
    ]);
  }
  await sendAlert(alerts, { opened: [], resolved: [] }, Date.now(), stopSignal());
  printMessage('The receiver has accepted a test message.');
}
