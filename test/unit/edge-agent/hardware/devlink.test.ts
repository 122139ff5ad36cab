// What devlink of iproute2 6.1 (Debian 12) printed on a real kernel, for the card that
// test/kernel/scenarios/devlink.ts programs, and what the agent makes of other texts.

import { describe, expect, it } from 'vitest';
import { readFirmwareVersions, readReload } from '#agent/hardware/devlink.ts';
import type { Hardware } from '#agent/hardware/port.ts';

const address = '0001:00:00.0';
const recorded = {
  info: '{"info":{"pci/0001:00:00.0":{"driver":"fake_nic","versions":{"fixed":{"board.id":"FAKE-1"},"running":{"fw.mgmt":"1.0"},"stored":{"fw.mgmt":"1.0"}}}}}\n',
  show: '{"dev":{"pci/0001:00:00.0":{"stats":{"reload":{"driver_reinit":{"unspecified":0},"fw_activate":{"unspecified":0}},"remote_reload":{"driver_reinit":{"unspecified":0},"fw_activate":{"unspecified":0,"no_reset":0}}}}}}\n',
};

const printing = (stdout: string) => {
  const hardware = { exec: async () => ({ exitCode: 0, stdout, stderr: '' }) };
  return { hardware: hardware as unknown as Hardware, address };
};
const cardWith = (key: 'info' | 'dev', shown: unknown) =>
  printing(JSON.stringify({ [key]: { [`pci/${address}`]: shown } }));

describe('the versions of a card', () => {
  it('are those that run and those that are stored', async () => {
    const mgmt = { 'fw.mgmt': '1.0' };
    expect(await readFirmwareVersions(printing(recorded.info))).toEqual({
      running: mgmt,
      stored: mgmt,
    });
  });

  it('are none of a driver that shows none', async () => {
    const none = { running: {}, stored: {} };
    expect(await readFirmwareVersions(cardWith('info', { driver: 'mlx4' }))).toEqual(none);
    const fixed = { versions: { fixed: { 'board.id': 'K65390-000' } } };
    expect(await readFirmwareVersions(cardWith('info', fixed))).toEqual(none);
  });

  it('leave out what is no version', async () => {
    const running = { 'fw.app.name': 'ICE OS Default Package', fw: '', 'fw.a': 'é', 'fw.b': ' 1 ' };
    const shown = await readFirmwareVersions(cardWith('info', { versions: { running } }));
    expect(shown.running).toEqual({ 'fw.app.name': 'ICE_OS_Default_Package', 'fw.b': '1' });
  });

  it.each([
    '',
    'kernel answers: Operation not supported',
    '{"info":{}}',
    '{"info":{"pci/0001:00:01.0":{"driver":"fake_nic"}}}',
    '{"info":{"pci/0001:00:00.0":{"versions":{"running":["1.0"]}}}}',
  ])('cannot be read from %j', async (text) => {
    await expect(readFirmwareVersions(printing(text))).rejects.toThrow(
      'devlink dev info printed what is not valid for it',
    );
  });
});

describe('the reload of a card', () => {
  it('is offered if the kernel counts it for this host', async () => {
    expect(await readReload(printing(recorded.show))).toEqual({
      isOffered: true,
      hasFailed: false,
    });
    const remote = { driver_reinit: {}, fw_activate: {} };
    const stats = { reload: { driver_reinit: {} }, remote_reload: remote };
    expect((await readReload(cardWith('dev', { stats }))).isOffered).toBe(false);
  });

  it('has failed if the kernel says so', async () => {
    const shown = { reload_failed: true, stats: { reload: {} } };
    expect((await readReload(cardWith('dev', shown))).hasFailed).toBe(true);
  });

  it.each(['', '{"dev":{}}', '{"dev":{"pci/0001:00:00.0":{}}}'])(
    'cannot be read from %j',
    async (text) => {
      await expect(readReload(printing(text))).rejects.toThrow('devlink dev show printed what is');
    },
  );
});
