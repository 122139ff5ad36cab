// Each refusal of ours on the path of Nova's requests, provoked at a real Nova.

import assert from 'node:assert/strict';
import type { Scenario } from '#test/openstack/scenario.ts';
import { refusedBinds } from './binds.ts';
import { pageCases, toScenario } from './refused.ts';
import { refusedRequests } from './requests.ts';

const refusals = [...refusedRequests, ...refusedBinds];

export const whatNovaShows: readonly Scenario[] = [
  ...refusals.map(toScenario),
  {
    name: 'Nova shows a refusal: the page has a row for each, and no other',
    run: async () => {
      assert.deepEqual(
        pageCases(),
        refusals.map(({ what }) => what),
      );
      return '';
    },
  },
];
