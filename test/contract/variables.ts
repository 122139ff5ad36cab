// The $ENVIRON variables of the contract suite: tokens of several personas, and devices to bind
// and to program, which it finds by asking the server itself.

export interface Tokens {
  readonly ADMIN_TOKEN: string;
  readonly MEMBER_TOKEN?: string;
  /** Token of a member of another project. */
  readonly OTHER_TOKEN?: string;
  readonly SERVICE_TOKEN?: string;
  /** Uuid of an active image, fit for programming or not: the host finds out later. */
  readonly IMAGE?: string;
}

interface Deployable {
  readonly uuid: string;
  readonly rp_uuid: string;
  readonly device_id: number;
  readonly parent_id: number | null;
  readonly attributes_list: string;
}

interface Device {
  readonly hostname: string;
  readonly vendor: string;
}

/** The API specification finds Intel's devices by `0x8086`; drivers report either spelling. */
function spellingsOf(vendor: string): Record<string, string> {
  const plain = vendor.toLowerCase().replace(/^0x/, '');
  return { VENDOR_PLAIN: plain, VENDOR_0X: `0X${plain.toUpperCase()}` };
}

/** @param base e.g. `http://127.0.0.1:6666/accelerator` */
export async function findVariables(base: string, tokens: Tokens): Promise<Record<string, string>> {
  const ask = async (path: string) => {
    const headers = { 'X-Auth-Token': tokens.ADMIN_TOKEN };
    const answer = await fetch(base + path, { headers });
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
    return (await answer.json()) as never;
  };
  const { deployables } = (await ask('/v2/deployables')) as { deployables: Deployable[] };
  const fake = deployables.find((each) => each.attributes_list.includes('CUSTOM_FAKE_DEVICE'));
  const device = fake && ((await ask(`/v2/devices/${fake.device_id}`)) as Device);
  const regions = deployables.filter((each) => each.parent_id !== null).slice(0, 3);
  return {
    ...tokens,
    ...(fake &&
      device && {
        DEPLOYABLE: fake.uuid,
        PROVIDER: fake.rp_uuid,
        HOSTNAME: device.hostname,
      }),
    ...(device && spellingsOf(device.vendor)),
    ...Object.fromEntries(regions.map(({ uuid }, index) => [`REGION_${index + 1}`, uuid])),
  };
}
