// Dependencies of the console's function: no table, no queue, and only sign-ins at Keystone.

import { randomUUID } from 'node:crypto';
import { createKeystone, type KeystoneClient } from '#core/clients/openstack/keystone/keystone.ts';
import type { RequestDeps } from '#core/deps.ts';
import { createLog } from '#core/log.ts';
import { loadSettings } from '#core/settings.ts';
import { type Files, openFiles } from './files.ts';
import { createSignInBrake, type SignInBrake } from './sign-in-brake.ts';

export interface ConsoleDeps extends RequestDeps {
  readonly clients: { readonly keystone: KeystoneClient };
  readonly files: Files;
  readonly brake: SignInBrake;
}

/** One for each Lambda container or local process. */
export function createConsoleDeps(
  env: Readonly<Record<string, string | undefined>> = process.env,
): ConsoleDeps {
  const settings = loadSettings(env);
  const log = createLog('console');
  const clock = Date.now;
  const keystone = createKeystone({
    settings: settings.keystone,
    clock,
    log,
    random: Math.random,
  });
  return {
    settings,
    clients: { keystone },
    files: openFiles(settings.consoleDirectory ?? new URL('console/', import.meta.url)),
    brake: createSignInBrake(clock),
    log,
    clock,
    uuid: randomUUID,
  };
}
