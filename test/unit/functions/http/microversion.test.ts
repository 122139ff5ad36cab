import { describe, expect, it } from 'vitest';
import { requestedMicroversion } from '#functions/http/request/microversion.ts';

const asked = (header: string | undefined) =>
  requestedMicroversion({ 'openstack-api-version': header }, '2.0');

describe('the microversion of a request', () => {
  it.each([
    [undefined, '2.0'],
    ['accelerator 2.1', '2.1'],
    ['ACCELERATOR 2.1', '2.1'],
    ['2.2', '2.2'],
    ['latest', '2.3'],
    ['accelerator latest', '2.3'],
    ['compute 2.90, accelerator 2.3', '2.3'],
    ['accelerator 2.1, compute 2.90, accelerator 2.2', '2.2'],
  ])('%s is %s', (header, version) => {
    expect(asked(header)).toBe(version);
  });

  it.each([
    'accelerator 2.9',
    'accelerator 3.0',
    'accelerator foo',
    'accelerator 2',
    'compute 2.1',
    '',
    '2.1 2.2',
  ])('%j is not acceptable', (header) => {
    expect(() => asked(header)).toThrow(/version/i);
  });
});
