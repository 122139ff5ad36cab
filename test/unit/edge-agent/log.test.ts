import { expect, it } from 'vitest';
import { createLog } from '#agent/log.ts';

it('keeps text from devices on one line', () => {
  const lines: string[] = [];
  createLog('info', (line) => lines.push(line)).warn('A device.', {
    model: 'x\n{"level":"forged"}',
  });
  expect(lines.join('').trimEnd().split('\n')).toHaveLength(1);
  expect(JSON.parse(lines.join(''))).toMatchObject({
    level: 'warn',
    message: 'A device.',
    model: 'x\n{"level":"forged"}',
  });
});

it('has nothing of a device that acts on a terminal, and reads back as it was', () => {
  const lines: string[] = [];
  const model = 'Zürich\u001b[2J\u009b31m\u202e\u{e0041}';
  createLog('info', (line) => lines.push(line)).warn('A device.', { model });
  expect(lines.join('')).toMatch(/^[\x20-\x7e]+\n$/);
  expect(JSON.parse(lines.join(''))).toMatchObject({ model });
});

it('drops lines below its level', () => {
  const lines: string[] = [];
  const log = createLog('warn', (line) => lines.push(line));
  log.debug('no');
  log.info('no');
  log.error('yes');
  expect(lines).toHaveLength(1);
});
