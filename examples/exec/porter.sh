#!/bin/sh
# A mind in plain sh: it likes every option, and each further one a little less.

while IFS= read -r duty; do
    id=${duty#'{"id":'} id=${id%%,*}
    act=${duty#*'"act":"'} act=${act%%'"'*}
    duty=${duty%%',"briefing":'*}
    case $act in
    propose)
        said='"answer":{"option":{"title":"lodge, either day","offer":{"day":"thursday","place":"lodge"}}}' ;;
    score)
        points=75 scores=
        for option in $(printf '%s' "$duty" | grep -o '{"id":"[0-9a-f]*","option"' | cut -d '"' -f 4); do
            scores="$scores${scores:+,}\"$option\":$points"
            points=$((points - 1))
        done
        said="\"answer\":{\"scores\":{$scores}}" ;;
    improve) said='"answer":{"pass":true}' ;;
    ratify) said='"answer":{"accept":true}' ;;
    perform) said='"answer":{"acts":[]}' ;;
    *) said='"excuse":"nothing to say"' ;;
    esac
    printf '{"id":%s,%s}\n' "$id" "$said"
done
