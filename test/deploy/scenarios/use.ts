// The deployed functions are used: by a host, by Nova, and while the stack is updated.

import assert from 'node:assert/strict';
import { playDemo } from '#local/demo/steps.ts';
import type { Scenario } from '#test/deploy/scenario.ts';
import { stackStage } from '#test/deploy/stage.ts';

export const use: readonly Scenario[] = [
  {
    name: 'a host is enrolled, and its agent connects with its certificate',
    run: async (stage) => {
      await stage.startHost();
      const list = await stage.ops('enrol', 'list', '--stage', stackStage);
      assert.match(list, /cmp1/);
      return '';
    },
  },
  {
    name: "the demo's steps succeed through the gateway and the event sources",
    run: async (stage) => {
      const steps: string[] = [];
      const done = (sentence: string) => void steps.push(sentence);
      const { api, nova, placement, glance } = stage;
      await playDemo({ stage: stackStage, api, nova, placement, glance, done });
      return steps.join('\n');
    },
  },
];
