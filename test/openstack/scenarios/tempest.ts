// The API tests of Cyborg's plug-in for tempest, unmodified. Its other tests start guests, which
// Nova's fake hypervisor does not.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CloudPlan, keystoneUrl, textOf } from '#test/openstack/install/configuration.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import { ensureEnvironment } from '#test/support/suites/virtual-environment.ts';

const root = join(import.meta.dirname, '../../..');
const page = join(root, 'docs/api-differences.md');
const requirements = join(import.meta.dirname, '../install/tempest-47.0.0.txt');
const environment = join(root, '.local/openstack-releases/tempest-47.0.0');

export const tempest: readonly Scenario[] = [
  {
    name: "tempest: only the tests of Cyborg's plug-in fail that the page of differences names",
    isLong: true,
    run: async ({ cloud: { plan, processes } }) => {
      const program = join(ensureEnvironment(environment, requirements), 'tempest');
      const at = join(plan.directory, 'tempest');
      mkdirSync(at);
      await processes.run({ name: 'tempest-init', command: [program, 'init', at] });
      writeFileSync(join(at, 'etc/tempest.conf'), textOf(configuration(plan, at)));
      const args = [
        '--workspace',
        'tempest',
        '--serial',
        '--regex',
        'cyborg_tempest_plugin.tests.api',
      ];
      // A test that fails is no fault of the program.
      const command = ['/bin/sh', '-c', '"$@" || true', 'sh', program, 'run', ...args];
      const printed = await processes.run({ name: 'tempest-run', command });
      const results = [...printed.matchAll(/\.(test_\w+)(?:\[.*?\])? \[[\d.]+s\] \.\.\. (\w+)/g)];
      const namesOf = (result: string) =>
        results.filter((each) => each[2] === result).map(([, name = '']) => name);
      const named = readFileSync(page, 'utf8').matchAll(/^\| `(test_\w+)` \|/gm);
      assert.deepEqual(namesOf('FAILED').sort(), [...named].map(([, name]) => name).sort());
      assert.ok(namesOf('ok').length >= 38, `${namesOf('ok').length} tests have passed.`);
      return `${namesOf('ok').length} of ${results.length} pass`;
    },
  },
];

function configuration(plan: CloudPlan, directory: string) {
  return {
    DEFAULT: { log_dir: directory },
    auth: {
      admin_username: 'admin',
      admin_password: plan.password,
      admin_project_name: 'admin',
      admin_domain_name: 'Default',
      create_isolated_networks: false,
    },
    identity: { uri_v3: keystoneUrl(plan), auth_version: 'v3', region: plan.region },
    oslo_concurrency: { lock_path: join(directory, 'locks') },
    service_available: { cyborg: true, cinder: false, swift: false },
    cyborg_policy: { enforce_new_defaults: true },
  };
}
