// The JSON patch by which Nova binds an accelerator request.

interface Target {
  readonly hostname: string;
  readonly device_rp_uuid: string;
  readonly instance_uuid: string;
}

export function bindPatch(target: Target) {
  return Object.entries(target).map(([name, value]) => {
    return { op: 'add', path: `/${name}`, value };
  });
}
