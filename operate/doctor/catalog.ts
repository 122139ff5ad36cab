// The accelerator service's entry in Keystone's catalog, as it is now. The token that the
// functions share has the catalog of its login, up to an hour ago: an endpoint may have moved.

import { givenPassword, rotatedPassword } from '#core/clients/aws/password.ts';
import { readSecret } from '#core/clients/aws/secrets.ts';
import { createKeystone } from '#core/clients/openstack/keystone/keystone.ts';
import { silentLog } from '#core/log.ts';
import type { CheckContext } from './check.ts';

/** One login for all checks of one run. */
const read = new WeakMap<CheckContext, Promise<string>>();

export function listedEndpoint(context: CheckContext): Promise<string> {
  const endpoint = read.get(context) ?? readEndpoint(context);
  read.set(context, endpoint);
  return endpoint;
}

function readEndpoint({ deps, aws }: CheckContext): Promise<string> {
  const { keystone: settings } = deps.settings;
  const { password, passwordSecret } = settings;
  const passwords = passwordSecret
    ? rotatedPassword((stage) => readSecret(passwordSecret, stage, aws.dynamoDb.config), silentLog)
    : givenPassword(password);
  const { clock } = deps;
  return createKeystone({ settings, passwords, clock, log: silentLog }).endpoint('accelerator');
}
