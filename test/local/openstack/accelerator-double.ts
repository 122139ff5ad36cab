// A fake accelerator API for the fake Nova: answers as the test sets, and records each request in
// one line, such as `nova-compute GET /accelerator_requests?instance=`.

import { type Ask, header, type Service, startService } from '#local/openstack/http-service.ts';

export interface AcceleratorDouble extends Service {
  readonly calls: string[];
  readonly asked: Ask[];
  /** Keys are uuids; a bind sets all of them to the state `bindsTo`. */
  readonly arqs: Map<string, { state: string; [field: string]: unknown }>;
  bindsTo: 'Bound' | 'BindStarted' | 'BindFailed';
  /** Statuses by method, instead of the usual answer. */
  readonly failing: Map<string, number>;
  /** Groups of the profile `fpga`. */
  groups: Record<string, string>[];
}

export async function anAcceleratorApi(): Promise<AcceleratorDouble> {
  const service = await startService({
    host: '127.0.0.1',
    port: 0,
    answer: async (ask) => {
      double.asked.push(ask);
      const by = header(ask, 'User-Agent')?.split(' ')[0];
      const what = ask.query.size > 0 ? `?${[...ask.query.keys()][0]}=` : '';
      double.calls.push(`${by} ${ask.method} ${ask.path}${what}`);
      const status = double.failing.get(ask.method);
      return status ? { status, body: { error_message: 'told to' } } : answer(double, ask);
    },
  });
  const double: AcceleratorDouble = {
    ...service,
    calls: [],
    asked: [],
    arqs: new Map(),
    bindsTo: 'Bound',
    failing: new Map(),
    groups: [{ 'resources:FPGA': '1', 'trait:OWNER_CYBORG': 'required', 'accel:x': 'y' }],
  };
  return double;
}

function answer(double: AcceleratorDouble, { method, path, query, body }: Ask) {
  if (path === '/device_profiles') {
    const found = query.get('name') === 'fpga' ? [{ name: 'fpga', groups: double.groups }] : [];
    return { status: 200, body: { device_profiles: found } };
  }
  switch (method) {
    case 'POST': {
      const made = double.groups.flatMap((group, index) =>
        Array.from({ length: Number(group['resources:FPGA']) }, () => ({
          uuid: crypto.randomUUID(),
          state: 'Initial',
          device_profile_group_id: index,
          attach_handle_type: '',
          attach_handle_info: {},
        })),
      );
      for (const arq of made) double.arqs.set(arq.uuid, arq);
      return { status: 201, body: { arqs: made } };
    }
    case 'PATCH':
      for (const [uuid, patch] of Object.entries(body as Record<string, { value: string }[]>)) {
        const instance_uuid = patch[2]?.value;
        Object.assign(double.arqs.get(uuid) ?? {}, { state: double.bindsTo, instance_uuid });
      }
      return { status: 202 };
    case 'DELETE':
      double.arqs.clear();
      return { status: 204 };
    default:
      return { status: 200, body: { arqs: [...double.arqs.values()] } };
  }
}
