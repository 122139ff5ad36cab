// The role cyborg_agent, with the package of Debian.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { agentVersion } from '#agent/version.ts';
import type { Machine } from '#test/ansible/machine.ts';
import { modeOf, type Stage, unitIs } from '#test/ansible/play.ts';
import { createHost, proxyPassword, settingsFile } from './host.ts';
import { contains, equal, lacks, type Scenario } from './scenario.ts';

const program = '/usr/bin/cyborg-agent';
const state = '/var/lib/cyborg-agent/jobs.json';
const starts = (calls: readonly string[]) => calls.filter((call) => call.includes('start'));
const readSettings = () => JSON.parse(readFileSync(settingsFile, 'utf8'));
const versionOf = () =>
  execFileSync('dpkg-query', ['--show', '-f', '$' + '{Version}', 'cyborg-agent'], {
    encoding: 'utf8',
  });

export function agentScenarios(
  stage: Stage,
  { debian: [first, next] }: Machine,
): readonly Scenario[] {
  const host = createHost(stage);
  const base = {
    cyborg_agent_package: first.file,
    cyborg_agent_package_checksum: first.checksum,
    cyborg_agent_check: false,
  };
  const enrolled = () => ({ ...base, cyborg_agent_identity_dir: host.enrol('localhost:1') });
  const settings = { drivers: ['fake'], proxy: `http://agent:${proxyPassword}@localhost:2` };
  return [
    {
      name: 'check mode changes nothing on a host without the agent',
      run: async () => {
        const { code, calls, output } = await host.play(enrolled(), ['--check']);
        equal([code, calls], [0, []], output);
        equal([existsSync(program), existsSync('/etc/cyborg-agent')], [false, false]);
      },
    },
    {
      name: 'a package with another checksum is refused, and nothing is installed',
      run: async () => {
        const checksum = `sha256:${'0'.repeat(64)}`;
        const { code, output } = await host.play({
          ...enrolled(),
          cyborg_agent_package_checksum: checksum,
        });
        equal(code, 2, output);
        contains(output, `has the checksum ${first.checksum}, not ${checksum}`);
        equal(existsSync(program), false);
      },
    },
    {
      name: 'a host without an identity is refused with what to do',
      run: async () => {
        const { code, calls, output } = await host.play(base);
        equal([code, starts(calls)], [2, []], output);
        contains(output, 'This host has no identity');
      },
    },
    {
      name: 'the agent is installed, runs and starts with the host, and its secrets are safe',
      run: async () => {
        const { code, calls, output } = await host.play(enrolled());
        equal([code, starts(calls)], [0, ['start cyborg-agent']], output);
        equal([unitIs(stage, 'active'), unitIs(stage, 'enabled')], [true, true]);
        const names = ['key.pem', 'certificate.pem', 'authorities.pem', 'agent.json'];
        const modes = names.map((name) => modeOf(`/etc/cyborg-agent/${name}`));
        equal(modes, ['600 root', '600 root', '600 root', '600 root']);
        equal(modeOf('/etc/cyborg-agent'), '700 root');
        const printed = execFileSync(program, ['--version'], { encoding: 'utf8' });
        equal(printed.trim(), agentVersion);
      },
    },
    {
      name: 'a second run changes nothing, with the folder of the identity and without it',
      run: async () => {
        for (const given of [enrolled(), base]) {
          const { code, changed, calls, output } = await host.play(given);
          equal([code, changed, calls], [0, 0, []], output);
        }
      },
    },
    {
      name: 'a changed setting restarts the agent once, and the identity stays',
      run: async () => {
        const given = { ...base, cyborg_agent_settings: settings };
        const { code, changed, calls, output } = await host.play(given);
        equal([code, changed, calls], [0, 2, ['daemon-reload', 'restart cyborg-agent']], output);
        const { hostname, endpoint, proxy } = readSettings();
        equal([hostname, endpoint, proxy], ['cmp1.example', 'localhost:1', settings.proxy]);
        equal((await host.play(given)).changed, 0);
        const without = await host.play({ ...base, cyborg_agent_settings: { drivers: ['fake'] } });
        equal(['proxy' in readSettings(), without.code], [false, 0], without.output);
      },
    },
    {
      name: 'units of the operator wait for the agent, without a restart',
      run: async () => {
        const before = ['kolla-nova_compute-container.service'];
        const given = { ...base, cyborg_agent_start_before: before };
        const { code, calls, output } = await host.play(given);
        equal([code, calls], [0, ['daemon-reload']], output);
        const file = '/etc/systemd/system/cyborg-agent.service.d/before.conf';
        equal(readFileSync(file, 'utf8'), `[Unit]\nBefore=${before[0]}\n`);
        equal([(await host.play(base)).code, existsSync(file)], [0, false]);
      },
    },
    {
      name: 'an upgrade restarts the agent once, and keeps its settings and state',
      run: async () => {
        mkdirSync('/var/lib/cyborg-agent', { recursive: true });
        writeFileSync(state, '{}');
        const before = readSettings();
        const { code, calls, output } = await host.play({
          ...base,
          cyborg_agent_package: next.file,
          cyborg_agent_package_checksum: next.checksum,
        });
        equal([code, starts(calls)], [0, ['try-restart cyborg-agent']], output);
        equal(
          [versionOf(), readSettings(), existsSync(state)],
          [`${agentVersion}-2`, before, true],
        );
      },
    },
    {
      name: 'a failed check of the agent fails the play with what it prints',
      run: async () => {
        const { code, output } = await host.play({ ...base, cyborg_agent_check: true });
        equal(code, 2, output);
        contains(output, 'FAILED broker: ');
      },
    },
    {
      name: 'the check sees a broker that takes the identity',
      run: async () => {
        const broker = await host.startBroker();
        const folder = host.enrol(broker.endpoint);
        const given = { ...base, cyborg_agent_identity_dir: folder, cyborg_agent_check: true };
        const { code, output } = await host.play(given);
        await broker.stop();
        equal(code, 0, output);
      },
    },
    {
      name: 'removal leaves identity and state, and a purge deletes both',
      run: async () => {
        const absent = { cyborg_agent_state: 'absent' };
        const removed = await host.play(absent);
        equal([removed.code, unitIs(stage, 'active')], [0, false], removed.output);
        equal(
          [program, settingsFile, state].map((file) => existsSync(file)),
          [false, true, true],
        );
        equal((await host.play(absent)).changed, 0);
        const purged = await host.play({ ...absent, cyborg_agent_purge: true });
        equal([purged.code, existsSync(settingsFile), existsSync(state)], [0, false, false]);
        lacks(purged.output, 'FAILED');
      },
    },
  ];
}
