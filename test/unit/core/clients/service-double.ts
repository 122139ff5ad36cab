// A service on loopback that gives the answers of the test and records the requests.

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

/**
 * For a double that only records: the answer of the service at `base`, with Keystone's headers.
 */
export async function passOn(ask: Ask, base: string): Promise<Answer> {
  const names = ['X-Auth-Token', 'X-Subject-Token', 'OpenStack-Identity-Access-Rules'];
  const tokens = names.flatMap((name) => {
    const value = ask.headers[name.toLowerCase()];
    return typeof value === 'string' ? [[name, value]] : [];
  });
  const response = await fetch(`${base}${ask.path}?${ask.query}`, {
    method: ask.method,
    headers: Object.fromEntries(tokens),
    ...(ask.body !== undefined && { body: JSON.stringify(ask.body) }),
  });
  const subject = response.headers.get('X-Subject-Token');
  const text = await response.text();
  return {
    status: response.status,
    ...(subject && { headers: { 'X-Subject-Token': subject } }),
    ...(text && { body: JSON.parse(text) }),
  };
}
