// The role cyborg_agent, with the archive for hosts without dpkg.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { agentVersion } from '#agent/version.ts';
import type { Machine } from '#test/ansible/machine.ts';
import { type Stage, unitIs } from '#test/ansible/play.ts';
import { createHost } from './host.ts';
import { equal, type Scenario } from './scenario.ts';

const program = '/usr/bin/cyborg-agent';
const installed = '/usr/lib/cyborg-agent/archive';
const environmentFile = '/etc/default/cyborg-agent';

export function archiveScenarios(stage: Stage, { archive }: Machine): readonly Scenario[] {
  const host = createHost(stage);
  const given = () => ({
    cyborg_agent_package: archive.file,
    cyborg_agent_package_checksum: archive.checksum,
    cyborg_agent_identity_dir: host.enrol('localhost:1'),
    cyborg_agent_check: false,
  });
  const restarted = ['daemon-reload', 'restart cyborg-agent'];
  return [
    {
      name: 'the archive installs the same agent, and the second run changes nothing',
      run: async () => {
        const { code, output } = await host.play(given());
        equal([code, unitIs(stage, 'active'), unitIs(stage, 'enabled')], [0, true, true], output);
        const printed = execFileSync(program, ['--version'], { encoding: 'utf8' });
        equal(printed.trim(), agentVersion);
        const second = await host.play(given());
        equal([second.code, second.changed, second.calls], [0, 0, []], second.output);
      },
    },
    {
      name: 'another archive restarts the agent once, and leaves its environment as it is',
      run: async () => {
        writeFileSync(environmentFile, '# Mine.\n');
        writeFileSync(installed, 'sha256:of-the-archive-before\n');
        const { code, calls, output } = await host.play(given());
        equal([code, calls], [0, restarted], output);
        equal(readFileSync(environmentFile, 'utf8'), '# Mine.\n');
        equal(readFileSync(installed, 'utf8').trim(), archive.checksum);
      },
    },
    {
      name: 'removal deletes the files of the archive, and leaves the identity',
      run: async () => {
        const { code, output } = await host.play({ cyborg_agent_state: 'absent' });
        equal([code, existsSync('/usr/lib/cyborg-agent'), existsSync(program)], [0, false, false]);
        equal(existsSync('/etc/cyborg-agent/key.pem'), true, output);
        equal((await host.play({ cyborg_agent_state: 'absent' })).changed, 0);
      },
    },
  ];
}
