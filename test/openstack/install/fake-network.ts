// An empty fake Neutron. Nova asks it for ports even of servers without ports.

import { type Service, startService } from '#local/openstack/http-service.ts';

export function startFakeNetwork(port: number): Promise<Service> {
  return startService({
    host: '127.0.0.1',
    port,
    answer: async ({ method, path }) => {
      const [version, collection, id] = path.split('/').filter((part) => part !== '');
      if (version === undefined) return { status: 200, body: { versions: [] } };
      if (collection === undefined) return { status: 200, body: { resources: [] } };
      if (method === 'GET' && id === undefined) {
        return { status: 200, body: { [collection.replace('.json', '').replace('-', '_')]: [] } };
      }
      return { status: 404, body: { NeutronError: { type: 'NotFound', message: '', detail: '' } } };
    },
  });
}
