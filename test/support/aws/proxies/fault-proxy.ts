// A proxy between the system's processes and a service, at which a test can act on a named
// request: before the service gets it, or after the service has answered and before the caller
// gets the answer.

import type { HttpEngine } from '#local/ports.ts';
import { actionOf, startForwarding } from './forwarding.ts';

export interface Call {
  /** An example: `DynamoDB TransactWriteItems`, `SQS DeleteMessage`, `Nova POST`. */
  readonly name: string;
  readonly phase: 'before' | 'after';
}

type CallListener = (call: Call) => Promise<void> | void;

export async function startFaultProxy(
  service: string,
  target: string,
  onCall: CallListener,
): Promise<HttpEngine> {
  return startForwarding(async (incoming, body, ask) => {
    const name = `${service} ${actionOf(incoming)}`;
    await onCall({ name, phase: 'before' });
    const answer = await ask(target, body);
    await onCall({ name, phase: 'after' });
    return answer;
  });
}
