import { expect, it } from 'vitest';
import { agentVersion } from '#agent/version.ts';
import packageJson from '../../../package.json' with { type: 'json' };

it('is the version of the package', () => {
  expect(agentVersion).toBe(packageJson.version);
});
