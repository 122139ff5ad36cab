import { describe, expect, it } from 'vitest';
import type { ToolDeps } from '#agent/drivers/nvme/tool.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { nvmeCases } from './nvme-cases.ts';
import { type Recording, readRecordings } from './recording.ts';

/** The program of a version, as far as it was recorded. */
function recorded({ cases }: Recording, name: string): ToolDeps {
  const runs = cases.flatMap((each) => (['version', name].includes(each.name) ? each.runs : []));
  const exec: Hardware['exec'] = async (_device, _tool, args) => {
    const run = runs.find((each) => each.args.join(' ') === args.join(' '));
    if (run) return run;
    throw new Error(`${args.join(' ')} was not recorded.`);
  };
  const hardware = { exec } as Hardware;
  return { hardware, address: '0000:c1:00.0', tool: '/usr/sbin/nvme', controller: 'nvme0' };
}

describe.each([...readRecordings('nvme-cli')])('nvme-cli %s', (_version, recording) => {
  it.each(nvmeCases)('$name', async ({ name, act, expected }) => {
    expect(await act(recorded(recording, name))).toEqual(expected);
  });
});
