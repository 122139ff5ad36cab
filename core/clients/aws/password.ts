// The service user's password: given, or read from Secrets Manager where it can be rotated. See
// docs/adr/0031-password-rotation.md.

import type { PasswordSource } from '#core/domain/password-source.ts';
import type { Log } from '#core/log.ts';
import type { SecretStage } from './secrets.ts';

/** A password that no one can change while the process runs. */
export function givenPassword(password: string): PasswordSource {
  return {
    current: async () => password,
    async *others() {},
    keep() {},
  };
}

/** The current version again: a rotation may end after its first read. */
const stages: readonly SecretStage[] = ['AWSCURRENT', 'AWSPENDING', 'AWSCURRENT'];

/**
 * @param read a version of the secret; undefined if there is none of that stage
 */
export function rotatedPassword(
  read: (stage: SecretStage) => Promise<string | undefined>,
  log: Log,
): PasswordSource {
  let cached: Promise<string> | undefined;

  async function first(): Promise<string> {
    const password = await read('AWSCURRENT');
    if (password === undefined)
      throw new Error('The secret of the password has no current version.');
    return password;
  }

  return {
    current() {
      cached ??= first().catch((error) => {
        // The next call reads again.
        cached = undefined;
        throw error;
      });
      return cached;
    },
    async *others(refused) {
      const tried = new Set([refused]);
      for (const stage of stages) {
        const password = await read(stage);
        if (password === undefined || tried.has(password)) continue;
        tried.add(password);
        yield password;
      }
    },
    keep(accepted) {
      cached = Promise.resolve(accepted);
      log.info('Password read again after its rotation');
    },
  };
}
