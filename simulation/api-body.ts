import type * as z from 'zod';
import type { arqAnswer } from '#core/contracts/api/accelerator-requests.ts';
import type { attributeAnswer, deployableAnswer } from '#core/contracts/api/deployables.ts';
import type { profileAnswer } from '#core/contracts/api/device-profiles.ts';
import type { deviceAnswer, freedAnswer, holdAnswer } from '#core/contracts/api/devices.ts';
import type {
  bindsAnswer,
  recordAnswer,
  reportAnswer,
  usageAnswer,
} from '#core/contracts/api/history.ts';
import type { aggregatesAnswer } from '#core/contracts/api/openstack.ts';
import type { hostAnswer, hostDetailAnswer } from '#core/contracts/api/operator/hosts.ts';
import type {
  incidentAnswer,
  reapAnswer,
  reconcileAnswer,
} from '#core/contracts/api/operator/incidents.ts';
import type { assignmentAnswer } from '#core/contracts/api/operator/use.ts';
import type { baselineAnswer, firmwareAnswer } from '#core/contracts/api/programs.ts';
import type { ArqUuid } from '#core/domain/ids.ts';

type OneOrMore<T extends z.ZodType> = readonly [z.infer<T>, ...z.infer<T>[]];
type Arq = Omit<z.infer<typeof arqAnswer>, 'uuid'> & { readonly uuid: ArqUuid };
type Links = readonly [{ readonly href: string }, ...{ readonly href: string }[]];

/**
 * The fields of the API's answers that tests read. Each answer has some of them, and a collection
 * may be empty: a test that reads a missing field fails.
 */
export interface ApiBody {
  readonly uuid: string;
  readonly id: string;
  readonly arqs: readonly [Arq, ...Arq[]];
  readonly arqs_links: Links;
  readonly attach_handle_type: string;
  readonly device_profiles: OneOrMore<typeof profileAnswer>;
  readonly device_profiles_links: Links;
  readonly links: Links;
  readonly devices: OneOrMore<typeof deviceAnswer>;
  readonly devices_links: Links;
  readonly status: NonNullable<z.infer<typeof deviceAnswer>['status']>;
  readonly device_uuid: string;
  readonly cleaning: z.infer<typeof freedAnswer>['cleaning'];
  readonly attach_handles: z.infer<typeof freedAnswer>['attach_handles'];
  readonly deployables: OneOrMore<typeof deployableAnswer>;
  readonly rp_uuid: string;
  readonly program: z.infer<typeof deployableAnswer>['program'];
  readonly attributes: OneOrMore<typeof attributeAnswer>;
  readonly hosts: OneOrMore<typeof hostAnswer>;
  readonly hosts_links?: Links;
  readonly failed_drivers: z.infer<typeof hostDetailAnswer>['failed_drivers'];
  readonly incidents: readonly z.infer<typeof incidentAnswer>[];
  readonly incidents_links?: Links;
  readonly firmware: readonly z.infer<typeof firmwareAnswer>[];
  readonly baselines: readonly z.infer<typeof baselineAnswer>[];
  readonly holds: readonly z.infer<typeof holdAnswer>[];
  readonly dry_run: boolean;
  readonly differing: z.infer<typeof reconcileAnswer>['differing'];
  readonly repairing: z.infer<typeof reconcileAnswer>['repairing'];
  readonly waiting: z.infer<typeof reapAnswer>['waiting'];
  readonly assignments: readonly z.infer<typeof assignmentAnswer>[];
  readonly assignments_links?: Links;
  readonly not_offered: z.infer<typeof hostDetailAnswer>['not_offered'];
  readonly history: OneOrMore<typeof recordAnswer>;
  readonly history_links?: Links;
  readonly usage: z.infer<typeof usageAnswer>['usage'];
  readonly aggregates: z.infer<typeof aggregatesAnswer>['aggregates'];
  readonly report: z.infer<typeof reportAnswer>['report'];
  readonly binds: z.infer<typeof bindsAnswer>['binds'];
  readonly to: string;
  readonly error: string;
  readonly error_message: string;
}
