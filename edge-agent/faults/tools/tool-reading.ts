// What a vendor's tool says of one card, whatever the tool.

export interface ToolReading {
  /** Temperature of the processor, in degrees Celsius. */
  readonly celsius?: number;
  /** Errors of memory that were not corrected, since the vendor's driver was loaded. */
  readonly uncorrectable?: number;
  readonly fault?: ToolFault;
}

export interface ToolFault {
  /** A device with a fatal fault is not offered; a warning is shown. */
  readonly severity: 'fatal' | 'warning';
  /** A clause that completes "The device at <address> ...". */
  readonly meaning: string;
  readonly nextStep: string;
}

/**
 * A fault that a tool can name in its output.
 *
 * @template Output what the tool prints of one card
 */
export interface ToolRow<Output> extends ToolFault {
  /** Undefined if the output does not say: a release without the field, or one in error. */
  readonly holds: (output: Output) => boolean | undefined;
}

/** Fatal rows come first: the first row that holds is shown. */
export function findToolFault<Output>(
  rows: readonly ToolRow<Output>[],
  output: Output,
): ToolFault | undefined {
  const row = rows.find(({ holds }) => holds(output));
  return row && { severity: row.severity, meaning: row.meaning, nextStep: row.nextStep };
}

/** Whether the output says that the card does not have the fault of this meaning. */
export function rulesOut<Output>(
  rows: readonly ToolRow<Output>[],
  output: Output,
  meaning: string,
): boolean {
  const row = rows.find((each) => each.meaning === meaning);
  // Without a row, the fault came from an exit code or from another release of the agent.
  return row === undefined || row.holds(output) === false;
}
