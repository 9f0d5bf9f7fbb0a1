const TRUE: readonly string[] = ['1', 't', 'T', 'TRUE', 'true', 'True'];
const FALSE: readonly string[] = ['0', 'f', 'F', 'FALSE', 'false', 'False'];

/** The spellings of Go's strconv.ParseBool, as flags and annotations of Kubernetes have them; null for all others. */
export function parseBool(text: string): boolean | null {
  if (TRUE.includes(text)) return true;
  return FALSE.includes(text) ? false : null;
}
