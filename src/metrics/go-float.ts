/**
 * A number as Go's format 'g' prints it at its shortest. Numbers below 1e-04 and from 1e+06 on have an exponent of two
 * digits. So the bounds of a histogram read `le="1e-08"` and `le="1.048576e+06"`, as in kube-controller-manager's.
 */
export function formatGoFloat(value: number): string {
  const [digits, exponentText] = value.toExponential().split('e') as [string, string];
  const exponent = Number(exponentText);
  if (value === 0 || (exponent >= -4 && exponent < 6)) return String(value);
  const padded = String(Math.abs(exponent)).padStart(2, '0');
  return `${digits}e${exponent < 0 ? '-' : '+'}${padded}`;
}
