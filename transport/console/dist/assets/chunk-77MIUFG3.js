<<<<<<<< HEAD:transport/console/dist/assets/chunk-3SHGVXIV.js
import{j as t}from"./chunk-WPXD6MVH.js";var n=()=>location.hash.replace(/^#\/?/,"").split("/").filter(Boolean).map(o=>{try{return decodeURIComponent(o)}catch{return o}}),e=t(n());addEventListener("hashchange",()=>e.value=n());var r=(...o)=>"#/"+o.map(encodeURIComponent).join("/"),i=(...o)=>{location.hash=r(...o)};export{e as a,r as b,i as c};
========
import{j as t}from"./chunk-R5BZNQ3I.js";var n=()=>location.hash.replace(/^#\/?/,"").split("/").filter(Boolean).map(o=>{try{return decodeURIComponent(o)}catch{return o}}),e=t(n());addEventListener("hashchange",()=>e.value=n());var r=(...o)=>"#/"+o.map(encodeURIComponent).join("/"),i=(...o)=>{location.hash=r(...o)};export{e as a,r as b,i as c};
>>>>>>>> h-speed:transport/console/dist/assets/chunk-77MIUFG3.js
