import { describe, expect, it } from 'vitest';
import { prepareRegion } from '#agent/handles/prepare-region.ts';
import { aClock, aDriver, aLog, aReportedDevice } from '#test/support/hosts/agent.ts';

const [image, first, second, other] = [1, 2, 3, 4].map(
  (number) => `0f1a2b3c-0000-4000-8000-00000000000${number}`,
) as [string, string, string, string];

const region = {
  name: 'region0',
  kind: 'reconfigurable-region' as const,
  resource_class: 'FPGA',
  traits: [],
  attach_handles: [],
};
const held = { 'bitstream-id': image, 'function-uuid': first, 'function-uuids': [second] };

async function check(
  content: { readonly bitstream_id: string } | { readonly function_id: string },
  holds: object = held,
): Promise<void> {
  const device = aReportedDevice({ regions: [{ ...region, ...holds }] });
  const context = {
    drivers: [aDriver('one', device)],
    clock: aClock(),
    log: aLog(),
    stop: new AbortController().signal,
    claim: async () => {},
    onProgress: () => {},
    downloads: { withImage: () => Promise.reject(new Error('no image is fetched')) },
  };
  const { address } = device;
  await prepareRegion(context, {
    kind: 'prepare',
    driver: 'one',
    address,
    region: region.name,
    content,
  });
}

describe('a region that is to hold something already', () => {
  it.each([
    ['its image', { bitstream_id: image }],
    ['the first function of its image', { function_id: first }],
    ['another function of its image', { function_id: second }],
    ['a function in another spelling', { function_id: second.toUpperCase() }],
  ])('is ready with %s', async (_what, content) => {
    await expect(check(content)).resolves.toBeUndefined();
  });

  it.each([
    ['another function', { function_id: other }, held, `${first}, ${second}`],
    ['another image', { bitstream_id: other }, held, image],
    ['anything while it is empty', { function_id: first }, {}, 'nothing'],
  ])('is refused with %s', async (_what, content, holds, what) => {
    await expect(check(content, holds)).rejects.toThrow(
      `Region region0 holds ${what}, not ${Object.values(content)[0]}.`,
    );
  });
});
