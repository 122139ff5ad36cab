// A service that answers what a test tells it to, on loopback, and remembers what it was asked.

import {
  type Answer,
  type Ask,
  type Service,
  startService,
} from '#local/openstack/http-service.ts';

export interface ServiceDouble extends Service {
  readonly asked: Ask[];
}

export async function aService(answer: (ask: Ask) => Answer | Promise<Answer>) {
  const asked: Ask[] = [];
  const service = await startService({
    host: '127.0.0.1',
    port: 0,
    answer: async (ask) => {
      asked.push(ask);
      return answer(ask);
    },
  });
  const double: ServiceDouble = { ...service, asked };
  return double;
}
