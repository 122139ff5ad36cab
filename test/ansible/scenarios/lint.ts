// The roles and the samples, by Ansible's own tools.

import { run, type Stage } from '#test/ansible/play.ts';
import { equal, type Scenario } from './scenario.ts';

export const lintScenarios = (stage: Stage): readonly Scenario[] => [
  {
    name: 'ansible-lint finds nothing, by its profile production',
    run: async () => {
      const options = ['--offline', '--strict', '--profile', 'production'];
      const files = ['site.yml', 'inventory.sample.yml', 'roles'];
      const { code, output } = await run(stage, 'ansible-lint', [...options, ...files]);
      equal(code, 0, output);
    },
  },
  {
    name: 'the sample has valid syntax, with its inventory',
    run: async () => {
      const options = ['--syntax-check', '-i', 'inventory.sample.yml', 'site.yml'];
      const { code, output } = await run(stage, 'ansible-playbook', options);
      equal(code, 0, output);
    },
  },
];
