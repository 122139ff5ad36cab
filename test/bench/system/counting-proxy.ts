// A proxy between the system and an engine that counts requests. It asks DynamoDB for the consumed
// capacity of each request, so that the product needs no switch for it.

import type { HttpEngine } from '#local/ports.ts';
import { type Answer, actionOf, startForwarding } from '#test/support/aws/proxies/forwarding.ts';

export interface Exchange {
  /** AWS's name of the action, such as `TransactWriteItems`. */
  readonly action: string;
  readonly asked: Readonly<Record<string, unknown>>;
  /** Empty if the service refused the request. */
  readonly answered: Readonly<Record<string, unknown>>;
}

interface CountingProxyOptions {
  /** Without a target, every request is refused and counted. */
  readonly target?: string;
  readonly alter?: (asked: Record<string, unknown>) => Record<string, unknown>;
  readonly onExchange: (exchange: Exchange) => void;
}

const refusal: Answer = { status: 503, headers: {}, body: Buffer.from('{}') };

export function startCountingProxy(options: CountingProxyOptions): Promise<HttpEngine> {
  const { target, alter = (asked) => asked, onExchange } = options;
  return startForwarding(async (incoming, body, ask) => {
    const asked = alter(parse(body));
    const answer =
      target === undefined ? refusal : await ask(target, Buffer.from(JSON.stringify(asked)));
    const answered = answer.status < 300 ? parse(answer.body) : {};
    onExchange({ action: actionOf(incoming), asked, answered });
    return answer;
  });
}

function parse(body: Buffer): Record<string, unknown> {
  return body.length === 0 ? {} : (JSON.parse(body.toString()) as Record<string, unknown>);
}
