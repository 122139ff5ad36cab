import { resourceHandler } from '../http/resource-handler.ts';
import { getHost } from './get-host.ts';
import { getHosts } from './get-hosts.ts';

export const actions = {
  'get-hosts': getHosts,
  'get-host': getHost,
};

export const handler = resourceHandler('operator', actions);
