// The API behind a local API Gateway: the deployed handlers of the resources behind the gateway's
// routes.

import type { Log } from '#core/log.ts';
import { handler as acceleratorRequests } from '#functions/accelerator-requests/handler.ts';
import { handler as attributes } from '#functions/attributes/handler.ts';
import { handler as operatorsConsole } from '#functions/console/handler.ts';
import { handler as deployables } from '#functions/deployables/handler.ts';
import { handler as deviceProfiles } from '#functions/device-profiles/handler.ts';
import { handler as devices } from '#functions/devices/handler.ts';
import { resourceFor } from '#functions/gateway.ts';
import type { HttpHandler } from '#functions/http/resource-handler.ts';
import { handler as operator } from '#functions/operator/handler.ts';
import type { Resource } from '#functions/routes.ts';
import { handler as versions } from '#functions/versions/handler.ts';
import type { HttpEngine, ListenOptions } from '#local/ports.ts';
import { startHttpServer } from './http-server.ts';
import type { LambdaHandler } from './lambda.ts';

const handlers: Readonly<Record<Resource, HttpHandler>> = {
  versions,
  'device-profiles': deviceProfiles,
  'accelerator-requests': acceleratorRequests,
  devices,
  deployables,
  attributes,
  operator,
  console: operatorsConsole,
};

/** @throws PortTaken */
export function startApi(options: ListenOptions & { readonly log?: Log }): Promise<HttpEngine> {
  return startHttpServer({
    ...options,
    resolve: (path) => handlers[resourceFor(path)] as LambdaHandler,
  });
}
