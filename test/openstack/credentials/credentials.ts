// Which credentials Nova and we accept, on the same cloud.

import assert from 'node:assert/strict';
import type { Scenario } from '#test/openstack/scenario.ts';
import { applicationCredentials } from './application-credentials.ts';
import { certificateTokens } from './certificate-tokens.ts';
import { ended } from './ended.ts';
import { headers } from './headers.ts';
import { scopes } from './scopes.ts';
import { serviceTokens } from './service-tokens.ts';
import { pageKinds, toScenario, whileKilled } from './table.ts';

const kinds = [
  ...scopes,
  ...applicationCredentials,
  ...certificateTokens,
  ...ended,
  ...serviceTokens,
  ...headers,
];

export const credentials: readonly Scenario[] = [
  toScenario('scopes and roles', scopes),
  toScenario('application credentials', applicationCredentials, 1),
  toScenario('tokens of a certificate', certificateTokens),
  toScenario('what has ended', ended),
  toScenario('service tokens', serviceTokens),
  toScenario('forms of a token', headers),
  whileKilled,
  {
    name: 'credentials beside Nova: the page has a row for each, and no other',
    run: async () => {
      assert.deepEqual(
        pageKinds(),
        kinds.map(({ what }) => what),
      );
      return '';
    },
  },
];
